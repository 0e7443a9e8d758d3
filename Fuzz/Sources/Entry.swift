// The seam to the fuzzing engine, which has a `main` of its own and calls us with each input. The bytes lie in a piece
// of memory of exactly their size, so that the address sanitizer sees whoever reads beside them.

/// What the engine calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = unsafe Span(_unsafeStart: start, count: count)
    if let size = Growth.size {
        Growth.check(input.array(), in: .chosen, size: size)
    } else {
        Harness.chosen.run(input)
    }
    return 0
}
