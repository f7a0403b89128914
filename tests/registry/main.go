// Command registry is an OCI registry in memory for tests. A second port controls it: tests read its requests there, and make it fail.
//
// It prints one line of JSON with the addresses on which it listens:
//
//	registry   the registry, with TLS and authentication as its flags say
//	elsewhere  another server, which has all blobs and asks for no credentials: the target of redirects
//	control    plain HTTP for tests; see control.go
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run() error {
	address := flag.String("address", "127.0.0.1:0", "the address of the registry; with port 0, any free port")
	certificate := flag.String("certificate", "", "the certificate of the registry, in PEM; without it, it serves plain HTTP")
	key := flag.String("key", "", "the key of the certificate, in PEM")
	referrers := flag.Bool("referrers", true, "serve the referrers API")
	authentication := flag.String("authentication", "none", "none, basic or bearer")
	user := flag.String("user", "gyre", "the name of the only user")
	password := flag.String("password", "", "the password of the user")
	lifetime := flag.Duration("token-lifetime", 5*time.Minute, "how long a token is valid")
	anonymous := flag.Bool("anonymous-pull", false, "with bearer: tokens to pull need no user")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected arguments: %q", flag.Args())
	}

	var configuration *tls.Config
	if *certificate != "" {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		if err != nil {
			return err
		}
		configuration = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	gate, err := newGate(*authentication, *user, *password, *lifetime, *anonymous)
	if err != nil {
		return err
	}
	silent := log.New(io.Discard, "", 0)
	storage := registry.New(registry.WithReferrersSupport(*referrers), registry.Logger(silent))
	requests := &requestLog{}
	state := &faultState{}

	// From the outside: a request is logged whatever becomes of it, and a limit of requests counts those without credentials, too.
	served := requests.logged("registry", state.limited(gate.guarded(state, state.served(storage))))
	front := &server{address: *address, tls: configuration, handler: served, log: silent}
	elsewhere := &server{address: "127.0.0.1:0", tls: configuration, handler: requests.logged("elsewhere", blobsOf(storage)), log: silent}
	control := &server{address: "127.0.0.1:0", handler: controlOf(requests, state, gate, front, storage), log: silent}
	for _, server := range []*server{front, elsewhere, control} {
		if err := server.open(); err != nil {
			return err
		}
	}
	addresses := map[string]string{"registry": front.address, "elsewhere": elsewhere.address, "control": control.address}
	if err := json.NewEncoder(os.Stdout).Encode(addresses); err != nil {
		return err
	}
	select {}
}

// server is a server that can be closed and opened again on the same port.
type server struct {
	// With port 0 only before it is opened for the first time.
	address string
	tls     *tls.Config
	handler http.Handler
	log     *log.Logger
	running *http.Server
}

func (s *server) open() error {
	if s.running != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	if s.tls != nil {
		listener = tls.NewListener(listener, s.tls)
	}
	running := &http.Server{Handler: s.handler, ErrorLog: s.log}
	s.running = running
	go func() {
		if err := running.Serve(listener); err != http.ErrServerClosed {
			fmt.Fprintln(os.Stderr, "registry:", err)
			os.Exit(1)
		}
	}()
	return nil
}

// close refuses new connections, and breaks those that are open.
func (s *server) close() error {
	if s.running == nil {
		return nil
	}
	err := s.running.Close()
	s.running = nil
	return err
}
