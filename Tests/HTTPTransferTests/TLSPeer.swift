import Foundation
import Glibc

/// A certificate authority of the test, and TLS servers with its certificates, created with the `openssl` command.
final class TLSPeer {
    static let tool = "/usr/bin/openssl"
    static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: tool) }

    struct Failure: Error {
        let output: String
    }

    let port: UInt16
    var caFile: String { directory.appending(path: "ca.pem").path() }

    private let directory: URL
    private let server = Process()

    /// Starts a server with a certificate for a name such as `IP:127.0.0.1`. The certificate expires in `days` days.
    init(name: String, days: Int = 2, options: [String] = []) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "tls-peer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        try Data("subjectAltName=\(name)".utf8).write(to: directory.appending(path: "names"))
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        let authority = ["-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem"]
        try Self.run(["req", "-x509", "-days", "2"] + authority + key, in: directory)
        try Self.run(["req", "-subj", "/CN=peer", "-keyout", "key.pem", "-out", "request.pem"] + key, in: directory)
        try Self.run(
            [
                "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "\(days)", "-extfile", "names", "-out", "certificate.pem",
            ], in: directory)

        let output = Pipe()
        server.executableURL = URL(filePath: Self.tool)
        server.currentDirectoryURL = directory
        server.arguments =
            ["s_server", "-accept", "127.0.0.1:0", "-cert", "certificate.pem", "-key", "key.pem", "-www"] + options
        server.standardInput = FileHandle.nullDevice
        server.standardOutput = output
        server.standardError = FileHandle.nullDevice
        try server.run()
        port = try Self.port(from: output.fileHandleForReading)
    }

    deinit {
        if server.isRunning {
            // The server may block other signals, because it inherits the signal mask of a thread that runs tests.
            kill(server.processIdentifier, SIGKILL)
            server.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: directory)
    }

    /// Returns the port that the server prints once it listens.
    private static func port(from output: FileHandle) throws -> UInt16 {
        var text = ""
        while let chunk = try output.read(upToCount: 1), !chunk.isEmpty {
            text += String(decoding: chunk, as: UTF8.self)
            guard text.hasSuffix("\n"), let line = text.split(separator: "\n").last else { continue }
            if line.hasPrefix("ACCEPT"), let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) {
                return port
            }
        }
        throw Failure(output: text)
    }

    private static func run(_ arguments: [String], in directory: URL) throws {
        let process = Process()
        process.executableURL = URL(filePath: tool)
        process.currentDirectoryURL = directory
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(output: "openssl \(arguments) failed") }
    }
}
