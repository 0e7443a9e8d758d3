/// What a caller wants to do with a descriptor.
package struct Interest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}
