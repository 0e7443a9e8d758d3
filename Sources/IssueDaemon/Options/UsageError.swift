/// What is wrong with a command line.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
    package var sentence: String

    package var description: String { "issued: \(sentence) See “issued --help”." }
}
