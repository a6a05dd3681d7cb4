module example.org/cgo

go 1.26
