import Foundation
import IssueTestSupport
import TestSockets
import UnixIO

/// Debian's clickhouse-server on the loopback interface, with a configuration and data of its own.
final class ClickHouseServer {
    static var program: String? { TestBinaries.tool("/usr/sbin/clickhouse-server", "/usr/bin/clickhouse-server") }
    static let password = DaemonConfiguration.token

    let port: UInt16
    private let folder: ScratchFolder
    private var process: ChildProcess?

    init() throws {
        folder = try ScratchFolder(named: "clickhouse")
        // ClickHouse can't choose a free port itself, so a socket is bound to one and closed again.
        port = try Socket.listenLoopback(portIn: 32_000..<32_768).localPort()
        try folder.write(configuration, to: "config.xml")
        try folder.write(Self.users, to: "users.xml")
        try start()
    }

    func start() throws {
        guard let program = Self.program else { throw Refused(description: "ClickHouse is not installed") }
        process = try ChildProcess(
            program, ["--config-file=\(folder["config.xml"])"], in: folder, name: "clickhouse")
    }

    func kill() throws {
        process?.send(SIGKILL)
        try process?.end()
    }

    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns the server's reply to a query.
    @discardableResult
    func query(_ text: String) throws -> String {
        let socket = try Socket.connectLoopback(port: port, timeout: .seconds(10), nonBlocking: false)
        let body = Array(text.utf8)
        let head = [
            "POST / HTTP/1.0", "X-ClickHouse-User: default", "X-ClickHouse-Key: \(Self.password)",
            "Content-Length: \(body.count)", "", "",
        ]
        try socket.sendAll(Array(head.joined(separator: "\r\n").utf8) + body, timeout: .seconds(10))
        var bytes: [UInt8] = []
        while try socket.read(appendingTo: &bytes, atMost: 1 << 20) > 0 {}
        let answer = String(decoding: bytes, as: UTF8.self)
        guard let end = answer.range(of: "\r\n\r\n"), answer.contains("200 OK") else {
            throw Refused(description: String(answer.prefix(1000)))
        }
        return String(answer[end.upperBound...])
    }

    /// Waits until the server answers, and creates the shipped tables.
    func prepare() async throws {
        do {
            try await eventually("ClickHouse answers") { (try? query("SELECT 1")) == "1\n" }
        } catch let timeout as ConditionTimeout {
            throw Refused(description: "\(timeout): \(errors)")
        }
        let file = "\(TestBinaries.repository)config/clickhouse/schema.sql"
        let schema = try String(contentsOfFile: file, encoding: .utf8)
        let plain = schema.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("--") }.joined(
            separator: "\n")
        for statement in plain.split(separator: ";") where statement.contains("CREATE") { try query(String(statement)) }
    }

    var errors: String { String(folder.text(of: "errors").suffix(2000)) }

    private var configuration: String {
        """
        <yandex>
          <logger><level>warning</level><log>\(folder["log"])</log><errorlog>\(folder["errors"])</errorlog></logger>
          <http_port>\(port)</http_port><listen_host>127.0.0.1</listen_host>
          <path>\(folder["data"])/</path><tmp_path>\(folder["tmp"])/</tmp_path>
          <users_config>\(folder["users.xml"])</users_config>
          <default_profile>default</default_profile><default_database>default</default_database>
          <timezone>UTC</timezone><mark_cache_size>5368709</mark_cache_size>
        </yandex>
        """
    }

    private static let users = """
        <yandex>
          <profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
          <users><default><password>\(password)</password><networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile><quota>default</quota></default></users>
          <quotas><default/></quotas>
        </yandex>
        """
}
