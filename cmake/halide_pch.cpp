// Empty: the target that owns the precompiled Halide.h needs a source file.
