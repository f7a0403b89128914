// Command patterns answers what Go's regexp says to patterns, since devcluster has to read the patterns of a schema as the
// API server does.
//
// It reads [{"p": pattern, "t": [text]}] and prints the same list, a case a line: with "m", whether the pattern matches each
// text, or with "e", the error of the pattern, instead of "t". `cargo xtask dump-kinds` runs it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf16"
)

type answer struct {
	Pattern string   `json:"p"`
	Texts   []string `json:"t,omitempty"`
	Matches []bool   `json:"m,omitempty"`
	Error   string   `json:"e,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var cases []answer
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return fmt.Errorf("cannot read the input: %w", err)
	}
	lines := make([]string, 0, len(cases))
	for _, one := range cases {
		line, err := render(ask(one))
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	_, err := fmt.Printf("[\n%s\n]\n", strings.Join(lines, ",\n"))
	return err
}

func ask(question answer) answer {
	pattern, err := regexp.Compile(question.Pattern)
	if err != nil {
		return answer{Pattern: question.Pattern, Error: err.Error()}
	}
	matches := make([]bool, 0, len(question.Texts))
	for _, text := range question.Texts {
		matches = append(matches, pattern.MatchString(text))
	}
	return answer{Pattern: question.Pattern, Texts: question.Texts, Matches: matches}
}

// render returns JSON in ASCII, since the texts have characters that editors do not show.
func render(answer answer) (string, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return "", err
	}
	var ascii strings.Builder
	for _, character := range strings.TrimSpace(encoded.String()) {
		if character <= '~' {
			ascii.WriteRune(character)
			continue
		}
		for _, unit := range utf16.Encode([]rune{character}) {
			fmt.Fprintf(&ascii, `\u%04x`, unit)
		}
	}
	return ascii.String(), nil
}
