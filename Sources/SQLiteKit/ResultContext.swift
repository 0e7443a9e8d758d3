internal import CSQLite

/// Where a value of a row in memory goes.
@safe package struct ResultContext: ~Copyable {
    private let handle: OpaquePointer
    private let arena: UnsafeRawBufferPointer

    init(handle: OpaquePointer, arena: UnsafeRawBufferPointer) {
        unsafe self.handle = handle
        unsafe self.arena = arena
    }

    package func null() {
        unsafe sqlite3_result_null(handle)
    }

    package func int64(_ value: Int64) {
        unsafe sqlite3_result_int64(handle, value)
    }

    package func double(_ value: Double) {
        unsafe sqlite3_result_double(handle, value)
    }

    /// Writes a part of the source's bytes as text, without a copy.
    package func text(_ range: Range<Int>) {
        unsafe csqlite_result_text_lent(handle, start(of: range), UInt64(range.count))
    }

    /// Writes a part of the source's bytes as a blob, without a copy.
    package func blob(_ range: Range<Int>) {
        unsafe csqlite_result_blob_lent(handle, start(of: range), UInt64(range.count))
    }

    /// Writes a text that is part of the program.
    package func text(_ constant: StaticString) {
        precondition(constant.hasPointerRepresentation, "A constant text is longer than one character")
        unsafe csqlite_result_text_lent(handle, constant.utf8Start, UInt64(constant.utf8CodeUnitCount))
    }

    /// Writes a copy of the bytes as text.
    package func text(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe csqlite_result_text_copied(handle, addressable(bytes), UInt64(bytes.count))
        }
    }

    /// Writes a copy of the bytes as a blob.
    package func blob(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe csqlite_result_blob_copied(handle, addressable(bytes), UInt64(bytes.count))
        }
    }

    /// Writes bytes as text where they are, without a copy.
    ///
    /// They must stay there, unchanged, until the statement has taken the next row.
    @unsafe package func text(lending bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe csqlite_result_text_lent(handle, addressable(bytes), UInt64(bytes.count))
        }
    }

    /// Writes bytes as a blob where they are, without a copy.
    ///
    /// They must stay there, unchanged, until the statement has taken the next row.
    @unsafe package func blob(lending bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe csqlite_result_blob_lent(handle, addressable(bytes), UInt64(bytes.count))
        }
    }

    /// Makes the statement fail with these words.
    package func fail(_ words: String) {
        unsafe sqlite3_result_error(handle, words, -1)
    }

    private func start(of range: Range<Int>) -> UnsafeRawPointer {
        let count = unsafe arena.count
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "A text ends outside its bytes")
        let empty: StaticString = "\0"
        return unsafe arena.baseAddress.map { unsafe $0 + range.lowerBound } ?? UnsafeRawPointer(empty.utf8Start)
    }
}

@available(*, unavailable)
extension ResultContext: Sendable {}
