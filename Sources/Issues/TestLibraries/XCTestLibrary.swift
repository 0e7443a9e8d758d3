internal import UnixIO

/// XCTest as this process has loaded it, by its public functions.
enum XCTestLibrary {
    private static let failName = "$s6XCTest7XCTFail_4file4lineySS_s12StaticStringVSutF"

    /// Whether this process has it.
    static var isLoaded: Bool {
        // A program that is linked statically has the type, and names no functions to those who ask.
        LoadedSymbols.has(failName) || _typeByName("6XCTest10XCTestCaseC") != nil
    }

    /// Fails the test that runs; false if the library cannot be reached.
    static func fail(_ message: String, at site: IssueSite) -> Bool {
        guard
            let fail = unsafe LoadedSymbols.function(
                failName, as: (@convention(thin) (String, StaticString, UInt) -> Void).self)
        else { return false }
        fail(message, site.filePath, site.line)
        return true
    }
}
