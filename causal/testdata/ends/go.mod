module example.org/ends

go 1.26.0

require github.com/headway-lab/headway v0.0.0

replace github.com/headway-lab/headway => ../../..
