module echo

go 1.24

require gyre.dev/gyre v0.0.0

replace gyre.dev/gyre => ../../sdk/go
