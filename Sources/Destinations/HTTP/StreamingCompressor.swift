import HTTPTransfer
import IssueCore
import UnixIO

/// Compresses a body on a thread of its own while further lines are still being formatted.
///
/// The lines are not kept: at the end, only the compressed body exists.
final class StreamingCompressor: PreparedBody {
    /// The number of bytes passed to the thread at a time. A shorter body is compressed at once.
    private static let pieceBytes = 32 << 10
    /// The maximum number of waiting pieces, so that a body is not held in memory twice.
    private static let maxPieces = 3
    /// The minimum size of a body that is worth compressing, in bytes.
    private static let minCompressed = 1024

    private struct Work: Sendable {
        var pieces: [[UInt8]] = []
        var hasAll = false
        var isAbandoned = false
        var result: HTTPBody?
        var hasEnded = false
    }

    private enum Form {
        case plain
        /// The body is still short, or no thread could be started.
        case waiting
        case underWay
    }

    private let frame: BodyFrame
    private let level: Int
    private let work = Monitor(Work())
    private var form: Form
    private var piece: [UInt8] = []
    private var count = 0
    private var body: HTTPBody?

    /// - Parameter level: The compression level of zlib; 0 for no compression.
    init(_ frame: BodyFrame, level: Int) {
        self.frame = frame
        self.level = level
        form = level > 0 ? .waiting : .plain
        piece += frame.beginning
    }

    deinit {
        work.withLock { $0.isAbandoned = true }
        work.broadcast()
    }

    func add(_ line: [UInt8]) {
        if count > 0 { piece += frame.separator }
        piece += line
        count += 1
        if piece.count >= Self.pieceBytes { pass() }
    }

    /// Returns the whole body; nil if zlib failed.
    func finished() -> HTTPBody? {
        if let body { return body }
        if count > 0 { piece += frame.end } else { piece = [] }
        switch form {
        case .plain: body = HTTPBody(bytes: piece, isCompressed: false)
        case .waiting: body = Self.compressed(piece, level)
        case .underWay:
            pass()
            work.withLock { $0.hasAll = true }
            work.broadcast()
            body = work.wait { $0.hasEnded ? .some($0.result) : nil } ?? nil
            // The body is kept until it was delivered; one copy is enough.
            work.withLock { $0.result = nil }
        }
        piece = []
        return body
    }

    /// Returns the body, compressed if possible. Without enough memory for zlib, it is sent uncompressed.
    private static func compressed(_ body: [UInt8], _ level: Int) -> HTTPBody {
        guard body.count > minCompressed, let bytes = try? Gzip.compress(body, level: level) else {
            return HTTPBody(bytes: body, isCompressed: false)
        }
        return HTTPBody(bytes: bytes, isCompressed: true)
    }

    private func pass() {
        if form == .waiting { start() }
        guard form == .underWay, !piece.isEmpty else { return }
        let next = piece
        piece = []
        piece.reserveCapacity(Self.pieceBytes + Self.pieceBytes / 4)
        _ = work.wait { work -> Bool? in
            guard work.pieces.count < Self.maxPieces || work.hasEnded else { return nil }
            work.pieces.append(next)
            return true
        }
        work.broadcast()
    }

    private func start() {
        let (work, level) = (work, level)
        let thread = try? Thread.start(name: "compress") { Self.run(work, level) }
        // If this failed, it is tried again with the next line.
        if thread != nil { form = .underWay }
    }

    private static func run(_ work: Monitor<Work>, _ level: Int) {
        Thread.yieldToOthers()
        let result = try? compressed(work, level)
        work.withLock { work in
            work.result = result ?? nil
            work.hasEnded = true
        }
        work.broadcast()
    }

    private static func compressed(_ work: Monitor<Work>, _ level: Int) throws(GzipError) -> HTTPBody? {
        var compressor = try? GzipCompressor(level: level)
        let isCompressed = compressor != nil
        var output: [UInt8] = []
        while true {
            let next = work.wait { work -> [[UInt8]]? in
                guard work.isAbandoned || work.hasAll || !work.pieces.isEmpty else { return nil }
                let pieces = work.isAbandoned ? [] : work.pieces
                work.pieces = []
                return pieces
            }
            work.broadcast()
            for piece in next ?? [] {
                if isCompressed { try compressor?.append(piece, to: &output) } else { output += piece }
            }
            let state = work.withLock { ($0.isAbandoned, $0.hasAll && $0.pieces.isEmpty) }
            if state.0 { return nil }
            if state.1 { break }
        }
        try compressor?.finish(into: &output)
        return HTTPBody(bytes: output, isCompressed: isCompressed)
    }
}

@available(*, unavailable)
extension StreamingCompressor: Sendable {}

/// The bytes that join lines to a body.
package struct BodyFrame: Equatable, Sendable {
    package let beginning: [UInt8]
    /// The bytes between two lines.
    package let separator: [UInt8]
    package let end: [UInt8]

    /// Each line is followed by a line feed.
    package static let lines = BodyFrame(beginning: [], separator: [UInt8(ascii: "\n")], end: [UInt8(ascii: "\n")])

    /// The lines are the elements of an array, which is the only member of an object.
    package static func array(named name: StaticString) -> BodyFrame {
        BodyFrame(
            beginning: Array("{\"\(name)\":[".utf8), separator: [UInt8(ascii: ",")], end: Array("]}".utf8))
    }

    /// Returns the body for some lines.
    package func body(of lines: [[UInt8]]) -> [UInt8] {
        guard !lines.isEmpty else { return [] }
        var body: [UInt8] = []
        body.reserveCapacity(
            lines.reduce(beginning.count + end.count) { $0 + $1.count + separator.count })
        body += beginning
        for (index, line) in lines.enumerated() {
            if index > 0 { body += separator }
            body += line
        }
        body += end
        return body
    }
}
