internal import CSQLite

/// Values for the parameters of a statement, whose positions start at 1.
///
/// Binding touches no file, so it can fail only through a mistake of ours: a position
/// that is not there, or a statement that still steps. So it traps.
extension Statement {
    package func bind(_ value: Int64, at position: Int) {
        check(unsafe sqlite3_bind_int64(handle, CInt(position), value), at: position)
    }

    package func bind(_ value: Int, at position: Int) {
        bind(Int64(value), at: position)
    }

    package func bind(_ value: Double, at position: Int) {
        check(unsafe sqlite3_bind_double(handle, CInt(position), value), at: position)
    }

    package func bind(_ value: Int64?, at position: Int) {
        guard let value else { return bindNull(at: position) }
        bind(value, at: position)
    }

    package func bind(_ value: Double?, at position: Int) {
        guard let value else { return bindNull(at: position) }
        bind(value, at: position)
    }

    package func bind(_ value: String?, at position: Int) {
        guard let value else { return bindNull(at: position) }
        bind(value, at: position)
    }

    package func bindNull(at position: Int) {
        check(unsafe sqlite3_bind_null(handle, CInt(position)), at: position)
    }

    /// Binds a copy of the string.
    package func bind(_ value: String, at position: Int) {
        var value = value
        value.withUTF8 { bytes in
            let code = unsafe csqlite_bind_text_copied(
                handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
        }
    }

    /// Binds a copy of the bytes as text.
    package func bind(text: Span<UInt8>, at position: Int) {
        unsafe text.withUnsafeBufferPointer { bytes in
            let code = unsafe csqlite_bind_text_copied(
                handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
        }
    }

    /// Binds a copy of the bytes as text.
    package func bind(text: [UInt8], at position: Int) {
        bind(text: text.span, at: position)
    }

    /// Binds a copy of the bytes as a blob.
    package func bind(blob: Span<UInt8>, at position: Int) {
        unsafe blob.withUnsafeBufferPointer { bytes in
            let code = unsafe csqlite_bind_blob_copied(
                handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
        }
    }

    /// Binds a copy of the bytes as a blob.
    package func bind(blob: [UInt8], at position: Int) {
        bind(blob: blob.span, at: position)
    }

    /// Binds bytes as text where they are, for the time of the body; then resets.
    package func binding<Value: ~Copyable, Failure: Error>(
        text: Span<UInt8>, at position: Int, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try unsafe text.withUnsafeBufferPointer { bytes throws(Failure) in
            let code = unsafe csqlite_bind_text_lent(handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
            defer { unbind(at: position) }
            return try body()
        }
    }

    /// Binds bytes as a blob where they are, for the time of the body; then resets.
    package func binding<Value: ~Copyable, Failure: Error>(
        blob: Span<UInt8>, at position: Int, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try unsafe blob.withUnsafeBufferPointer { bytes throws(Failure) in
            let code = unsafe csqlite_bind_blob_lent(handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
            defer { unbind(at: position) }
            return try body()
        }
    }

    /// Takes back bytes that were lent, also from a statement that still steps.
    private func unbind(at position: Int) {
        reset()
        bindNull(at: position)
    }

    private func check(_ code: CInt, at position: Int) {
        precondition(code == SQLITE_OK, "Nothing could be bound at \(position): \(error(code))")
    }
}
