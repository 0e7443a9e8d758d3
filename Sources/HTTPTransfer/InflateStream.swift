import CZlib

/// The state of one decompression.
@safe
struct InflateStream: ~Copyable {
    // On the heap because zlib checks that a stream has not moved.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws(GzipError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // If nothing was set up, the end of nothing is harmless.
        guard unsafe czlib_gzip_inflate_init(stream) == Z_OK else { throw .outOfMemory }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    mutating func inflateAll(_ input: UnsafeBufferPointer<UInt8>, limit: Int) throws(GzipError) -> [UInt8] {
        // zlib only reads the input, though it does not say const.
        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        unsafe stream.pointee.avail_in = UInt32(input.count)

        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let (result, count) = inflate(into: &chunk)
            guard output.count + count <= limit else { throw .overLimit }
            output.append(contentsOf: chunk[..<count])

            switch result {
            case Z_STREAM_END:
                // A file may hold several streams one after the other.
                guard unsafe stream.pointee.avail_in > 0 else { return output }
                guard unsafe inflateReset(stream) == Z_OK else { throw .corrupt }
            case Z_OK:
                break
            case Z_BUF_ERROR:
                // No progress: all input is used up, and the end is missing.
                throw .truncated
            case Z_MEM_ERROR:
                throw .outOfMemory
            default:
                throw .corrupt
            }
        }
    }

    private mutating func inflate(into chunk: inout [UInt8]) -> (result: CInt, count: Int) {
        unsafe chunk.withUnsafeMutableBufferPointer { room in
            unsafe stream.pointee.next_out = room.baseAddress
            unsafe stream.pointee.avail_out = UInt32(room.count)
            let result = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
            return unsafe (result, room.count - Int(stream.pointee.avail_out))
        }
    }
}
