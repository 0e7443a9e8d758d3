/// The lines that a request carried, made again only where an answer can't be understood without them.
package struct SentLines {
    package let count: Int
    private let make: () -> [[UInt8]]

    package init(count: Int, _ make: @escaping () -> [[UInt8]]) {
        self.count = count
        self.make = make
    }

    package init(_ lines: [[UInt8]]) {
        self.init(count: lines.count) { lines }
    }

    /// All of them.
    package var all: [[UInt8]] { make() }
}
