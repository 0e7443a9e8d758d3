/// At which side of its column a text stands.
enum Alignment: Sendable {
    case left
    case right
}
