internal import Issues

extension IssueBrowser {
    /// A part of an answer that may be longer.
    public struct Page<Element: Sendable>: Sendable {
        /// What is on this page.
        public var elements: [Element]
        /// Where the next page begins; nil on the last one.
        public var next: String?
    }
}
