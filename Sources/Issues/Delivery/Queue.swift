/// First in, first out, in pieces: it grows without moving what it holds, and keeps no memory of a flood that is over.
struct Queue<Element> {
    private static var pieceCount: Int { 64 }

    // Elements that are taken leave a hole, so that each is let go at once.
    private var pieces: [[Element?]] = []
    private var head = 0

    private(set) var count = 0
    var first: Element? { pieces.first?[head] }

    /// The one that was appended last, to be changed in its place.
    var last: Element? {
        get { pieces.last?.last ?? nil }
        set {
            guard count > 0, let newValue else { return }
            let piece = pieces.count - 1
            pieces[piece][pieces[piece].count - 1] = newValue
        }
    }

    mutating func append(_ element: Element) {
        if pieces.last.map({ $0.count == Self.pieceCount }) ?? true {
            var piece: [Element?] = []
            piece.reserveCapacity(Self.pieceCount)
            pieces.append(piece)
        }
        pieces[pieces.count - 1].append(element)
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = pieces[0][head]
        pieces[0][head] = nil
        head += 1
        count -= 1
        if head == pieces[0].count {
            pieces.removeFirst()
            head = 0
        }
        return element
    }
}

extension Queue: Sendable where Element: Sendable {}
