/// The responders that a report meets, innermost first.
indirect enum ResponderChain: Sendable {
    case end
    /// Those of the process, as they are when a report gets there.
    case root
    case responder(ErrorResponder, outside: ResponderChain)

    init(_ responders: [ErrorResponder], outside: ResponderChain) {
        self = responders.reversed().reduce(outside) { .responder($1, outside: $0) }
    }

    /// The first responder, and what lies outside it.
    var first: (responder: ErrorResponder, outside: ResponderChain)? {
        switch self {
        case .end: nil
        case .responder(let responder, let outside): (responder, outside)
        case .root:
            switch ErrorResponders.rootChain {
            case .responder(let responder, let outside): (responder, outside)
            case .end, .root: nil
            }
        }
    }
}

extension ResponderChain {
    /// Whether nobody is asked.
    var isEmpty: Bool {
        switch self {
        case .end: true
        case .responder: false
        case .root: ErrorResponders.isRootEmpty
        }
    }
}
