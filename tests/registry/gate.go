package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	tokenPath = "/token"
	service   = "registry.test"
)

// gate lets in who has credentials.
type gate struct {
	scheme, user, password string
	lifetime               time.Duration
	anonymousPull          bool

	lock   sync.Mutex
	tokens map[string]token
}

type token struct {
	expires time.Time
	// Entries like `repository:team/echo:pull`, one for each action.
	scopes map[string]bool
}

func newGate(scheme, user, password string, lifetime time.Duration, anonymousPull bool) (*gate, error) {
	if scheme != "none" && scheme != "basic" && scheme != "bearer" {
		return nil, fmt.Errorf("--authentication is none, basic or bearer, not %q", scheme)
	}
	return &gate{scheme: scheme, user: user, password: password, lifetime: lifetime, anonymousPull: anonymousPull, tokens: map[string]token{}}, nil
}

// guarded serves tokens, and passes on the requests that have the credentials for what they do.
func (g *gate) guarded(state *faultState, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.scheme == "bearer" && r.URL.Path == tokenPath:
			g.serveToken(w, r)
		case g.scheme == "basic" && !g.isUser(r):
			w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
			refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
		case g.scheme == "bearer":
			needed, problem := g.problem(r)
			if problem == "" {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("WWW-Authenticate", challenge(realmOf(r, state.get().Realm), needed, problem))
			refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g *gate) isUser(r *http.Request) bool {
	user, password, found := r.BasicAuth()
	return found && user == g.user && password == g.password
}

// problem returns the scope that a request needs, and why its token does not have it, or "".
func (g *gate) problem(r *http.Request) (scope, problem string) {
	repository, action := neededScope(r)
	if repository != "" {
		scope = "repository:" + repository + ":" + action
	}
	text, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return scope, "no token"
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	held, known := g.tokens[text]
	switch {
	case !known || time.Now().After(held.expires):
		return scope, "invalid_token"
	case scope != "" && !held.scopes[scope]:
		return scope, "insufficient_scope"
	default:
		return scope, ""
	}
}

// neededScope returns the repository of a request, or "" for none, and what the request does to it.
func neededScope(r *http.Request) (repository, action string) {
	action = "pull"
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		action = "push"
	}
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	for _, part := range []string{"/blobs/", "/manifests/", "/tags/", "/referrers/"} {
		if repository, _, found := strings.Cut(path, part); found {
			return repository, action
		}
	}
	return "", action
}

func realmOf(r *http.Request, other string) string {
	if other != "" {
		return other
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + tokenPath
}

func challenge(realm, scope, problem string) string {
	text := fmt.Sprintf(`Bearer realm="%s",service="%s"`, realm, service)
	if scope != "" {
		// Pushing needs to look what is there.
		if repository, found := strings.CutSuffix(scope, ":push"); found {
			scope = repository + ":pull,push"
		}
		text += fmt.Sprintf(`,scope="%s"`, scope)
	}
	if problem != "no token" {
		text += fmt.Sprintf(`,error="%s"`, problem)
	}
	return text
}

func (g *gate) serveToken(w http.ResponseWriter, r *http.Request) {
	isUser := g.isUser(r)
	if !isUser && (r.Header.Get("Authorization") != "" || !g.anonymousPull) {
		w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password")
		return
	}
	query := r.URL.Query()
	if query.Get("service") != service {
		refuse(w, http.StatusBadRequest, "UNSUPPORTED", "another service")
		return
	}
	made := token{expires: time.Now().Add(g.lifetime), scopes: map[string]bool{}}
	// Several scopes are several parameters, or one with spaces.
	for _, scope := range strings.Fields(strings.Join(query["scope"], " ")) {
		end := strings.LastIndex(scope, ":")
		if end < 0 {
			continue
		}
		for _, action := range strings.Split(scope[end+1:], ",") {
			if action == "pull" || isUser && action == "push" {
				made.scopes[scope[:end]+":"+action] = true
			}
		}
	}
	text := rand.Text()
	g.lock.Lock()
	g.tokens[text] = made
	g.lock.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]any{"token": text, "expires_in": int(g.lifetime.Seconds()), "issued_at": time.Now().UTC().Format(time.RFC3339)}
	_ = json.NewEncoder(w).Encode(answer)
}

// expire makes all tokens invalid that were given out.
func (g *gate) expire() {
	g.lock.Lock()
	defer g.lock.Unlock()
	clear(g.tokens)
}

// refuse answers with an error in the form of the distribution specification.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}})
}
