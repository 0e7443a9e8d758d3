import Glibc
import Testing
import UnixIO

@Suite("Errno")
struct ErrnoTests {
    @Test("An error has a description and a symbolic name")
    func description() {
        #expect("\(Errno.noSuchFile)" == "No such file or directory (ENOENT)")
        #expect(Errno.wouldBlock.name == "EAGAIN")
    }

    @Test("An unknown number is described and does not trap", arguments: [-1, 0, 99_999] as [CInt])
    func unknown(number: CInt) {
        #expect(!"\(Errno(rawValue: number))".isEmpty)
        #expect(!Errno(rawValue: number).name.isEmpty)
    }

    @Test("A failed system call throws its error")
    func current() {
        #expect(throws: Errno.noSuchFile) { try FileDescriptor.open("/does/not/exist").close() }
    }
}
