/// The address of some bytes, which for no bytes at all is not nil either.
///
/// SQLite takes nil for NULL, and an empty array has no address of its own.
func addressable(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer {
    let empty: StaticString = "\0"
    return unsafe UnsafeRawPointer(bytes.baseAddress ?? empty.utf8Start)
}
