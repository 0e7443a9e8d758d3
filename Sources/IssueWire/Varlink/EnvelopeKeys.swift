/// The keys of calls and replies, ready to be compared.
struct EnvelopeKeys: Sendable {
    static let shared = EnvelopeKeys()

    let method = JSONKey("method")
    let parameters = JSONKey("parameters")
    let oneway = JSONKey("oneway")
    let more = JSONKey("more")
    let upgrade = JSONKey("upgrade")
    let continues = JSONKey("continues")
    let error = JSONKey("error")
}
