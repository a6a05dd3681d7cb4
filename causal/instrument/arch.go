package instrument

import "runtime"

const defaultArch = runtime.GOARCH
