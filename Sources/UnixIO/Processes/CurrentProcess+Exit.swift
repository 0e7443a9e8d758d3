import Glibc

extension CurrentProcess {
    /// Ends the process with a code for whoever started it.
    package static func exit(_ code: Int32) -> Never {
        Glibc.exit(code)
    }
}
