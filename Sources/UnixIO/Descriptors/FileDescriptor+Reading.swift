import Glibc

extension FileDescriptor {
    /// Reads as many bytes as are there and fit; 0 is the end.
    package borrowing func read(into buffer: inout MutableSpan<UInt8>) throws(Errno) -> Int {
        precondition(!buffer.isEmpty, "A read needs room, or its 0 would look like the end")
        return try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
            try retrying { unsafe Glibc.read(rawValue, bytes.baseAddress, bytes.count) }
        }
    }

    /// Reads into the part of an array that starts at an offset; 0 is the end.
    ///
    /// The array keeps its count, so a buffer made once is never zeroed again.
    package borrowing func read(
        into buffer: inout [UInt8], at offset: Int = 0, atMost limit: Int = .max
    ) throws(Errno) -> Int {
        precondition(offset >= 0 && offset < buffer.count && limit > 0, "A read needs room inside the buffer")
        let count = min(limit, buffer.count - offset)
        var span = buffer.mutableSpan
        return try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
            try retrying { unsafe Glibc.read(rawValue, bytes.baseAddress.map { unsafe $0 + offset }, count) }
        }
    }

    /// Reads into the spare room behind an array's last byte; 0 is the end.
    package borrowing func read(appendingTo buffer: inout [UInt8], atMost limit: Int) throws(Errno) -> Int {
        precondition(limit > 0, "A read needs room, or its 0 would look like the end")
        let before = buffer.count
        try buffer.append(addingCapacity: limit) { (output: inout OutputSpan<UInt8>) throws(Errno) in
            try unsafe output.withUnsafeMutableBufferPointer { bytes, initialized throws(Errno) in
                initialized += try retrying {
                    unsafe Glibc.read(rawValue, bytes.baseAddress.map { unsafe $0 + initialized }, limit)
                }
            }
        }
        return buffer.count - before
    }

    /// Reads for a loop: end and "not now" are results, not errors.
    package borrowing func attemptRead(
        into buffer: inout [UInt8], at offset: Int = 0, atMost limit: Int = .max
    ) -> IOResult {
        do throws(Errno) {
            let count = try read(into: &buffer, at: offset, atMost: limit)
            return count == 0 ? .end : .bytes(count)
        } catch {
            return IOResult(error)
        }
    }

    /// Reads behind an array's last byte, for a loop.
    package borrowing func attemptRead(appendingTo buffer: inout [UInt8], atMost limit: Int) -> IOResult {
        do throws(Errno) {
            let count = try read(appendingTo: &buffer, atMost: limit)
            return count == 0 ? .end : .bytes(count)
        } catch {
            return IOResult(error)
        }
    }

    /// Reads until the buffer holds so many bytes; false where the file ends before.
    package borrowing func fill(_ buffer: inout [UInt8], to count: Int) throws(Errno) -> Bool {
        while buffer.count < count {
            guard try read(appendingTo: &buffer, atMost: count - buffer.count) > 0 else { return false }
        }
        return true
    }
}
