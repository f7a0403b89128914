package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
)

// faults are the ways in which the registry fails. Without any, it works.
type faults struct {
	// The next requests get 429, also those for tokens.
	Limited int `json:"limited"`
	// The next requests get 503.
	Unavailable int `json:"unavailable"`
	// The header Retry-After of both; without it, they have none.
	RetryAfter string `json:"retryAfter"`
	// The realm of bearer challenges, instead of the registry's own.
	Realm string `json:"realm"`
	// Answers about manifests do not have the header Docker-Content-Digest.
	HideDigests bool `json:"hideDigests"`
	// A byte of each manifest differs.
	ChangeManifests bool `json:"changeManifests"`
	// A byte of each blob differs.
	ChangeBlobs bool `json:"changeBlobs"`
	// The connection breaks in the middle of each blob.
	TruncateBlobs bool `json:"truncateBlobs"`
	// Each blob has half of its bytes, and the length says so.
	ShortenBlobs bool `json:"shortenBlobs"`
	// The length of each blob that the header says, where zeros follow the content.
	AnnouncedBytes int64 `json:"announcedBytes"`
	// The URL to which requests for blobs are redirected, where {digest} is that of the blob.
	RedirectBlobs string `json:"redirectBlobs"`
}

func (f faults) concernBlobs() bool {
	return f.ChangeBlobs || f.TruncateBlobs || f.ShortenBlobs || f.AnnouncedBytes > 0
}

type faultState struct {
	lock sync.Mutex
	now  faults
}

func (s *faultState) set(to faults) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now = to
}

func (s *faultState) get() faults {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.now
}

// limited refuses the next requests, as many as the faults say.
func (s *faultState) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.lock.Lock()
		status, retryAfter := 0, s.now.RetryAfter
		switch {
		case s.now.Limited > 0:
			s.now.Limited--
			status = http.StatusTooManyRequests
		case s.now.Unavailable > 0:
			s.now.Unavailable--
			status = http.StatusServiceUnavailable
		}
		s.lock.Unlock()
		if status == 0 {
			next.ServeHTTP(w, r)
			return
		}
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		refuse(w, status, "TOOMANYREQUESTS", "try again later")
	})
}

// served passes requests on, and changes what is answered.
func (s *faultState) served(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := s.get()
		digest, isBlob := digestOfBlob(r)
		isManifest := strings.Contains(r.URL.Path, "/manifests/")
		switch {
		case isBlob && now.RedirectBlobs != "":
			http.Redirect(w, r, strings.ReplaceAll(now.RedirectBlobs, "{digest}", digest), http.StatusTemporaryRedirect)
		case isBlob && now.concernBlobs() && r.Method == http.MethodGet:
			answered := httptest.NewRecorder()
			next.ServeHTTP(answered, r)
			sendBlob(w, answered, now)
		case isManifest && (now.HideDigests || now.ChangeManifests):
			answered := httptest.NewRecorder()
			next.ServeHTTP(answered, r)
			content := answered.Body.Bytes()
			if now.ChangeManifests && answered.Code == http.StatusOK && len(content) > 0 {
				// Spaces may stand between the tokens of JSON, so it stays a manifest.
				content = bytes.Replace(content, []byte("{"), []byte("{ "), 1)
				answered.Header().Del("Content-Length")
			}
			if now.HideDigests {
				answered.Header().Del("Docker-Content-Digest")
			}
			copyHeader(w, answered)
			w.WriteHeader(answered.Code)
			_, _ = w.Write(content)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func copyHeader(w http.ResponseWriter, answered *httptest.ResponseRecorder) {
	for name, values := range answered.Header() {
		w.Header()[name] = values
	}
}

// digestOfBlob returns the digest of the blob that a request reads.
func digestOfBlob(r *http.Request) (string, bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "", false
	}
	_, digest, found := strings.Cut(r.URL.Path, "/blobs/sha256:")
	return "sha256:" + digest, found
}

func sendBlob(w http.ResponseWriter, answered *httptest.ResponseRecorder, now faults) {
	content := answered.Body.Bytes()
	copyHeader(w, answered)
	if answered.Code >= 300 || len(content) == 0 {
		w.WriteHeader(answered.Code)
		_, _ = w.Write(content)
		return
	}
	if now.ChangeBlobs {
		content[len(content)-1] ^= 1
	}
	length := int64(len(content))
	if now.ShortenBlobs {
		content = content[:len(content)/2]
		length = int64(len(content))
	}
	if now.AnnouncedBytes > 0 {
		length = now.AnnouncedBytes
	}
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(answered.Code)
	if now.TruncateBlobs {
		_, _ = w.Write(content[:len(content)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(content)
	zeros := io.LimitReader(zeroReader{}, length-int64(len(content)))
	_, _ = io.Copy(w, zeros)
}

type zeroReader struct{}

func (zeroReader) Read(bytes []byte) (int, error) {
	clear(bytes)
	return len(bytes), nil
}

// blobsOf serves the blobs of a registry by the last part of the path.
func blobsOf(storage http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		inner := r.Clone(r.Context())
		inner.URL.Path = "/v2/any/blobs/" + digest
		storage.ServeHTTP(w, inner)
	})
}
