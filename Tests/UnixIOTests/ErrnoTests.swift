import Glibc
import Testing
import UnixIO

@Suite("Errors of the kernel")
struct ErrnoTests {
    @Test("An error says in words and by name what it means")
    func description() {
        #expect("\(Errno.noSuchFile)" == "No such file or directory (ENOENT)")
        #expect(Errno.wouldBlock.name == "EAGAIN")
    }

    @Test("A number that no error has is described, not trapped on", arguments: [-1, 0, 99_999] as [CInt])
    func unknown(number: CInt) {
        #expect(!"\(Errno(rawValue: number))".isEmpty)
        #expect(!Errno(rawValue: number).name.isEmpty)
    }

    @Test("A failed call tells which error it was")
    func current() {
        #expect(throws: Errno.noSuchFile) { try FileDescriptor.open("/does/not/exist").close() }
    }
}
