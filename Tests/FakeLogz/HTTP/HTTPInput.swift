import UnixIO

/// Reads successive requests from a connection.
struct HTTPInput: Sendable {
    /// The maximum size of a body, in bytes, even if no other limit applies.
    static let requestLimit = 64 * 1024 * 1024
    private static let headLimit = 64 * 1024

    private let socket: OpenSocket
    private var buffer: [UInt8] = []
    private var next = 0

    init(_ socket: OpenSocket) {
        self.socket = socket
    }

    /// Waits for the first byte of a request. Returns `false` if there is none.
    ///
    /// Only that byte is read, so that a request which must stay unread stays unread.
    mutating func waitForRequest() -> Bool {
        guard next == buffer.count else { return true }
        return (try? fill(atMost: 1)) != nil
    }

    /// Reads up to the empty line after the headers.
    mutating func head() throws(ConnectionEnd) -> RequestHead {
        var searched = next
        while true {
            while searched + 3 < buffer.count {
                if buffer[searched] == 0x0D, buffer[searched + 1] == 0x0A, buffer[searched + 2] == 0x0D,
                    buffer[searched + 3] == 0x0A
                {
                    let head = Array(buffer[next..<searched])
                    next = searched + 4
                    return try RequestHead(parsing: head)
                }
                searched += 1
            }
            guard buffer.count - next <= Self.headLimit else { throw .tooLarge }
            let passed = searched - next
            try fill(atMost: 16 * 1024)
            searched = next + passed
        }
    }

    /// Reads the body, at most `limit` bytes of it. Calls `took` with the size of each piece.
    mutating func body(
        of head: RequestHead, atMost limit: Int = .max, piece: Int = 64 * 1024, into body: inout [UInt8],
        took: (Int) -> Void = { _ in }
    ) throws(ConnectionEnd) {
        switch head.framing {
        case .none:
            break
        case .length(let length):
            guard length <= Self.requestLimit else { throw .tooLarge }
            try take(min(length, limit), piece: piece, into: &body, took: took)
        case .chunked:
            while body.count < limit {
                let size = try chunkSize()
                guard size > 0 else { break }
                guard body.count + size <= Self.requestLimit else { throw .tooLarge }
                try take(min(size, limit - body.count), piece: piece, into: &body, took: took)
                guard body.count < limit else { return }
                guard try line().isEmpty else { throw .malformed }
            }
            guard body.count < limit else { return }
            // Trailers, up to the empty line.
            while try !line().isEmpty {}
        }
    }

    /// Reads and discards until the client closes.
    mutating func drain() {
        while (try? fill(atMost: 64 * 1024)) != nil { next = buffer.count }
    }

    private mutating func take(
        _ count: Int, piece: Int, into body: inout [UInt8], took: (Int) -> Void
    ) throws(ConnectionEnd) {
        var missing = count
        while missing > 0 {
            if next == buffer.count { try fill(atMost: piece) }
            let taken = min(missing, buffer.count - next, piece)
            body.append(contentsOf: buffer[next..<(next + taken)])
            next += taken
            missing -= taken
            took(taken)
        }
    }

    private mutating func chunkSize() throws(ConnectionEnd) -> Int {
        let digits = try line().prefix { $0 != ";" && $0 != " " }
        guard !digits.isEmpty, digits.utf8.count <= 8, let size = Int(digits, radix: 16), size >= 0 else {
            throw .malformed
        }
        return size
    }

    private mutating func line() throws(ConnectionEnd) -> String {
        var line: [UInt8] = []
        while true {
            if next == buffer.count { try fill(atMost: 16 * 1024) }
            let byte = buffer[next]
            next += 1
            guard byte != 0x0A else { break }
            line.append(byte)
            guard line.count <= Self.headLimit else { throw .tooLarge }
        }
        guard line.last == 0x0D else { throw .malformed }
        line.removeLast()
        return String(decoding: line, as: UTF8.self)
    }

    private mutating func fill(atMost limit: Int) throws(ConnectionEnd) {
        if next == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            next = 0
        }
        while true {
            switch socket.descriptor.attemptRead(appendingTo: &buffer, atMost: limit) {
            case .bytes: return
            case .end: throw .closed
            case .failed(let error): throw .failed(error)
            case .wouldBlock:
                do throws(Errno) {
                    try Readiness.wait(socket.descriptor, for: .read)
                } catch {
                    throw .failed(error)
                }
            }
        }
    }
}
