// Without this file the compiler would want a body of each function.
