import IssueProtocol
package import UnixIO

/// A request as received, and its result.
package struct RecordedRequest: Hashable, Sendable {
    /// The number of the request, counted from 1 since the start.
    package let number: Int
    package let connection: Int
    /// The number of the request on its connection, counted from 1.
    package let ordinal: Int
    package let arrived: KernelInstant
    package internal(set) var method: String?
    /// The target, with the token replaced with a part of its hash. Nil, like the method, if the headers were not read.
    package internal(set) var target: String?
    package internal(set) var headers: [HTTPField] = []
    /// The number of bytes of the body that were read.
    package internal(set) var wireBytes = 0
    /// The size of the body after decompression; nil if its lines were not examined.
    package internal(set) var inflatedBytes: Int?
    package internal(set) var counters: LineCounters?
    /// The name of the applied fault; nil if there is none.
    package internal(set) var fault: String?
    /// The status of the response; nil if there is none.
    package internal(set) var status: Int?
    /// Whether the response was sent completely. Nil while that is undecided, and for a request that gets no response
    /// because it was not read completely.
    package internal(set) var isAnswered: Bool?

    init(number: Int, connection: Int, ordinal: Int, arrived: KernelInstant) {
        self.number = number
        self.connection = connection
        self.ordinal = ordinal
        self.arrived = arrived
    }

    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    func write(to writer: inout JSONWriter, event: String? = nil) {
        writer.object { writer in
            writer.member("event", ifPresent: event)
            writer.member("request", Int64(number))
            writer.member("connection", Int64(connection))
            writer.member("on_connection", Int64(ordinal))
            writer.member("monotonic_ns", arrived.nanoseconds)
            writer.member("method", ifPresent: method)
            writer.member("target", ifPresent: target)
            writer.key("headers")
            writer.array { writer in
                for header in headers {
                    writer.array { writer in
                        writer.string(header.name)
                        writer.string(header.value)
                    }
                }
            }
            writer.member("wire_bytes", Int64(wireBytes))
            writer.member("inflated_bytes", ifPresent: inflatedBytes.map(Int64.init))
            writer.member("lines", ifPresent: counters.map { Int64($0.total) })
            if let counters {
                writer.key("counters")
                counters.write(to: &writer)
            }
            writer.member("fault", ifPresent: fault)
            writer.member("status", ifPresent: status.map(Int64.init))
            writer.member("answered", ifPresent: isAnswered)
        }
    }
}
