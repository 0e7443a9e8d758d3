internal import UnixIO

/// Makes the values that Swift Testing's functions take.
enum TestingValues {
    static func location<SourceLocation>(_ site: IssueSite) -> SourceLocation? {
        // An initializer takes its texts owned; without `consuming` they would be
        // let go twice. And not by Optional.map: to hand a thin function to a
        // closure crashes the compiler of 6.3.
        guard
            let make = unsafe LoadedSymbols.function(
                "$s7Testing14SourceLocationV6fileID0D4Path4line6columnACSS_SSS2itcfC",
                as: (@convention(thin) (consuming String, consuming String, Int, Int) -> SourceLocation).self)
        else { return nil }
        return make(
            site.fileID.description, site.filePath.description, Int(clamping: site.line), Int(clamping: site.column))
    }

    static func comment<Comment>(_ text: String) -> Comment? {
        // A public conformance, so no name of a function is needed.
        guard let type = Comment.self as? any RawRepresentable<String>.Type else { return nil }
        return type.init(rawValue: text) as? Comment
    }

    /// The severity that calls itself so.
    static func severity<Severity>(_ name: String) -> Severity? {
        // There is no public way to make one. Its cases are the values of one
        // byte, and which is which is asked, not assumed.
        guard MemoryLayout<Severity>.size == 1 else { return nil }
        for tag in UInt8(0)..<2 {
            let value = unsafe withUnsafeBytes(of: tag) { unsafe $0.loadUnaligned(as: Severity.self) }
            if "\(value)" == name { return value }
        }
        return nil
    }
}
