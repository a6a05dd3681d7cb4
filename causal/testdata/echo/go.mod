module example.org/echo

go 1.26
