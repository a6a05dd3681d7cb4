module example.org/app

go 1.26
