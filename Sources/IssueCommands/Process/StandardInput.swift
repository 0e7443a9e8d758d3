import UnixIO

/// What is piped into the process.
final class StandardInput: CommandInput {
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    func read() -> [UInt8]? {
        // A stream that can't be read is an empty one: the shell has said why.
        guard let stream = try? StandardStream.input.duplicate() else { return nil }
        while true {
            do throws(Errno) {
                let count = try stream.read(into: &buffer)
                return count > 0 ? Array(buffer[..<count]) : nil
            } catch .wouldBlock {
                guard (try? Readiness.wait(stream, for: .read)) != nil else { return nil }
            } catch {
                return nil
            }
        }
    }
}
