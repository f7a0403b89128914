module gyre.dev/gyre

go 1.24
