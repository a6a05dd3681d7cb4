module example.org/http

go 1.26
