package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

// controlOf serves what tests do to the registry:
//
//	GET    /requests   the requests so far, as JSON
//	DELETE /requests   forgets them
//	PUT    /faults     replaces the faults by those in the body; {} ends all of them
//	POST   /expire     makes all tokens invalid
//	POST   /down       closes the registry, and breaks its connections
//	POST   /up         opens it again on the same port
//	       /raw/v2/…   the registry itself, without log, authentication and faults
func controlOf(requests *requestLog, state *faultState, gate *gate, front *server, storage http.Handler) http.Handler {
	var lock sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(requests.soFar())
	})
	mux.HandleFunc("DELETE /requests", func(http.ResponseWriter, *http.Request) { requests.forget() })
	mux.HandleFunc("PUT /faults", func(w http.ResponseWriter, r *http.Request) {
		var to faults
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&to); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		state.set(to)
	})
	mux.HandleFunc("POST /expire", func(http.ResponseWriter, *http.Request) { gate.expire() })
	change := func(change func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			lock.Lock()
			defer lock.Unlock()
			if err := change(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	mux.HandleFunc("POST /down", change(front.close))
	mux.HandleFunc("POST /up", change(front.open))
	mux.Handle("/raw/", http.StripPrefix("/raw", storage))
	return mux
}

// request is a request in the log. Its status is 0 until it is answered.
type request struct {
	// The server: `registry` or `elsewhere`.
	Server string `json:"server"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Query  string `json:"query"`
	// The scheme of the header, e.g. `Bearer`; empty without it. Credentials are not logged.
	Authorization string `json:"authorization"`
	UserAgent     string `json:"userAgent"`
	Status        int    `json:"status"`
}

type requestLog struct {
	lock     sync.Mutex
	requests []*request
}

func (l *requestLog) logged(server string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		made := &request{
			Server:        server,
			Method:        r.Method,
			Path:          r.URL.Path,
			Query:         r.URL.RawQuery,
			Authorization: scheme,
			UserAgent:     r.UserAgent(),
		}
		l.lock.Lock()
		l.requests = append(l.requests, made)
		l.lock.Unlock()
		next.ServeHTTP(&statusWriter{ResponseWriter: w, log: l, request: made}, r)
	})
}

func (l *requestLog) soFar() []request {
	l.lock.Lock()
	defer l.lock.Unlock()
	copies := []request{}
	for _, request := range l.requests {
		copies = append(copies, *request)
	}
	return copies
}

func (l *requestLog) forget() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.requests = nil
}

// statusWriter writes the status to the log before the client can see it.
type statusWriter struct {
	http.ResponseWriter
	log     *requestLog
	request *request
}

func (w *statusWriter) WriteHeader(status int) {
	w.log.lock.Lock()
	w.request.Status = status
	w.log.lock.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(content []byte) (int, error) {
	w.log.lock.Lock()
	if w.request.Status == 0 {
		w.request.Status = http.StatusOK
	}
	w.log.lock.Unlock()
	return w.ResponseWriter.Write(content)
}

// Unwrap lets http.ResponseController reach what it flushes.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
