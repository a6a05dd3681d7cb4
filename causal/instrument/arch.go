package instrument

import "runtime"

const defaultArch = runtime.GOARCH

// architectures are those that have hooks of their own.
var architectures = []string{"amd64", "arm64"}
