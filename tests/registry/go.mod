// An OCI registry for tests, which fails as the tests say.
module gyre.dev/registry

go 1.26.0

require github.com/google/go-containerregistry v0.22.1
