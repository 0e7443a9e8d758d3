import CZlib

extension GzipCompressor {
    /// Room for what comes out at a time.
    private static var pieceBytes: Int { 64 << 10 }

    /// Compresses a piece of a body behind those that came before.
    package mutating func append(_ bytes: [UInt8], to output: inout [UInt8]) throws(GzipError) {
        try run(bytes, Z_NO_FLUSH, to: &output)
    }

    /// Ends the body; the next piece is the first of another.
    package mutating func finish(into output: inout [UInt8]) throws(GzipError) {
        try run([], Z_FINISH, to: &output)
        try reset()
    }

    private mutating func run(_ bytes: [UInt8], _ flush: CInt, to output: inout [UInt8]) throws(GzipError) {
        guard bytes.count <= UInt32.max else { throw .tooLarge }
        var rest = bytes.count
        while true {
            let step = step(bytes.span.extracting((bytes.count - rest)...), flush, room: Self.pieceBytes)
            output += step.output
            rest -= step.consumed
            guard step.result == Z_OK || step.result == Z_STREAM_END || step.result == Z_BUF_ERROR else {
                throw .corrupt
            }
            let isDone = flush == Z_FINISH ? step.result == Z_STREAM_END : rest == 0 && !step.isFull
            if isDone { return }
        }
    }
}
