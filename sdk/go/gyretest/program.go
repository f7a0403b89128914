package gyretest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// protocol is the version of docs/test-kit-protocol.md.
const protocol = 1

// errNoProgram is the absence of the program gyre.
var errNoProgram = errors.New("there is no program gyre: install it on PATH, or name it in the environment variable GYRE")

// program is the process `gyre worlds`. It ends with this one, because its input is then closed.
type program struct {
	writes sync.Mutex
	input  io.Writer

	state sync.Mutex
	last  int
	lanes map[int]chan answer
	// ended is why there are no more answers.
	ended error
}

// answer is a line of the program.
type answer struct {
	World *int            `json:"world"`
	OK    json.RawMessage `json:"ok"`
	Error *string         `json:"error"`
	Call  *call           `json:"call"`
	Stop  *struct{}       `json:"stop"`
}

// call asks a plugin of this process.
type call struct {
	Plugin   int               `json:"plugin"`
	Function string            `json:"function"`
	Parent   json.RawMessage   `json:"parent"`
	Members  []json.RawMessage `json:"members"`
	Settings json.RawMessage   `json:"settings"`
}

// theProgram returns the process, which all tests share.
var theProgram = sync.OnceValues(startProgram)

func startProgram() (*program, error) {
	path := os.Getenv("GYRE")
	if path == "" {
		found, err := exec.LookPath("gyre")
		if err != nil {
			return nil, errNoProgram
		}
		path = found
	}
	command := exec.Command(path, "worlds")
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("cannot run %s: %w", path, err)
	}
	lines := bufio.NewReader(output)
	if err := greet(path, lines); err != nil {
		_ = command.Process.Kill()
		return nil, err
	}
	p := &program{input: input, lanes: map[int]chan answer{}}
	go p.read(lines, command)
	return p, nil
}

func greet(path string, lines *bufio.Reader) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s does not greet: it is not the program gyre, or it is too old", path)
	}
	var greeting struct {
		Gyre     string `json:"gyre"`
		Protocol int    `json:"protocol"`
	}
	if err := json.Unmarshal(line, &greeting); err != nil || greeting.Protocol != protocol {
		return fmt.Errorf("%s is gyre %s with the protocol %d, and this test kit has %d", path, greeting.Gyre, greeting.Protocol, protocol)
	}
	return nil
}

// read passes on the answers until there are no more.
func (p *program) read(lines *bufio.Reader, command *exec.Cmd) {
	ended := errors.New("the program gyre ended while tests used it: its standard error may say why")
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			ended = fmt.Errorf("the program gyre has written a line that is no answer: %w", err)
			break
		}
		if a.World == nil {
			if a.Error != nil {
				ended = fmt.Errorf("the program gyre does not understand this test kit: %s", *a.Error)
				break
			}
			continue
		}
		p.state.Lock()
		lane := p.lanes[*a.World]
		p.state.Unlock()
		if lane != nil {
			lane <- a
		}
	}
	p.state.Lock()
	defer p.state.Unlock()
	p.ended = ended
	for _, lane := range p.lanes {
		close(lane)
	}
	p.lanes = map[int]chan answer{}
	_ = command.Process.Kill()
	_ = command.Wait()
}

// open returns a lane for the requests of a world.
func (p *program) open() (*lane, error) {
	p.state.Lock()
	defer p.state.Unlock()
	if p.ended != nil {
		return nil, p.ended
	}
	p.last++
	answers := make(chan answer, 1)
	p.lanes[p.last] = answers
	return &lane{program: p, world: p.last, answers: answers, plugins: map[int]plugin{}}, nil
}

func (p *program) close(world int) {
	p.state.Lock()
	defer p.state.Unlock()
	delete(p.lanes, world)
}

func (p *program) send(world int, request string, fields any) error {
	line, err := json.Marshal(map[string]any{"world": world, "do": map[string]any{request: fields}})
	if err != nil {
		return err
	}
	p.writes.Lock()
	defer p.writes.Unlock()
	_, err = p.input.Write(append(line, '\n'))
	return err
}

// lane is the requests of one world.
type lane struct {
	program *program
	world   int
	answers chan answer
	plugins map[int]plugin
}

// plugin answers the calls of a reconciler of this process.
type plugin func(call *call, lane *lane) map[string]any

func (l *lane) next() (answer, error) {
	a, ok := <-l.answers
	if !ok {
		l.program.state.Lock()
		defer l.program.state.Unlock()
		return a, l.program.ended
	}
	return a, nil
}

// ask sends a request, and reads its answer into a value, which may be nil. Meanwhile, the program may
// call plugins.
func (l *lane) ask(request string, fields, into any) error {
	if err := l.program.send(l.world, request, fields); err != nil {
		return err
	}
	for {
		a, err := l.next()
		switch {
		case err != nil:
			return err
		case a.Error != nil:
			return errors.New(*a.Error)
		case a.Call != nil:
			if err := l.serve(a.Call); err != nil {
				return err
			}
		case a.OK != nil && into == nil:
			return nil
		case a.OK != nil:
			return json.Unmarshal(a.OK, into)
		}
	}
}

// stopped ends a call that the program has given up.
type stopped struct{}

// askWithinCall sends a request of a plugin. It panics if the call cannot go on.
func (l *lane) askWithinCall(request string, fields, into any) {
	if err := l.program.send(l.world, request, fields); err != nil {
		panic(err)
	}
	a, err := l.next()
	if err != nil {
		panic(err)
	}
	if a.Stop != nil || a.OK == nil {
		panic(stopped{})
	}
	if into != nil {
		if err := json.Unmarshal(a.OK, into); err != nil {
			panic(err)
		}
	}
}

// serve answers a call of a plugin.
func (l *lane) serve(call *call) error {
	run := l.plugins[call.Plugin]
	if run == nil {
		return fmt.Errorf("the program gyre calls the plugin %d, which this world does not have", call.Plugin)
	}
	returned := run(call, l)
	if returned == nil {
		return nil
	}
	return l.program.send(l.world, "return", returned)
}
