/// The entry point of libFuzzer, which has its own `main` and calls this function with each input.
///
/// The input is in a heap block of exactly its size, so the address sanitizer detects reads outside of it.
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
