/// Replies of the daemon, as sent on the wire.
enum Fixtures {
    static let decodingGroup = """
        {"id":"g7","title":"Decoding failed: keyNotFound(price)","severity":"error","state":"open","regressed":false,\
        "app":"shop","uid":1000,"fingerprint":"f00d","domain":"com.example.shop.DecodingError","code":4865,\
        "records":8,"occurrences":1234,"first_seen":"2026-11-18T12:00:00.000Z",\
        "last_seen":"2026-11-21T11:57:00.000Z","first_version":"1.9.0","last_version":"2.0.0","newest":"r42",\
        "sparkline":[0,0,0,1,0,2,0,0,3,4,5,6,7,8,9,10,11,12,12,9,6,3,1,0],"unheard_of":[1,{"a":2}]}
        """
    static let diskGroup = """
        {"id":"g9","title":"No space left on /srv while writing the nightly backup of the customer database",\
        "severity":"critical","state":"muted","muted_until":"2026-11-22T00:00:00.000Z","regressed":false,\
        "app":"backup","uid":0,"fingerprint":"beef","records":1,"occurrences":1,\
        "first_seen":"2026-11-20T11:00:00.000Z","last_seen":"2026-11-20T11:00:00.000Z",\
        "sparkline":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}
        """
    static let japaneseGroup = """
        {"id":"g11","title":"データベースに接続できません 👨‍👩‍👧 café","severity":"warning","state":"open",\
        "regressed":true,"uid":1000,"fingerprint":"cafe","records":2,"occurrences":2,\
        "first_seen":"2026-11-01T00:00:00.000Z","last_seen":"2026-11-21T11:59:30.000Z"}
        """
    static let hostileGroup = """
        {"id":"g13","title":"\\u001b]0;owned\\u0007\\u001b[2J\\nline two\\u009b31m\\u202egnp.exe\\u007f","severity":"info",\
        "state":"open","regressed":false,"app":"e\\tvil","uid":1000,"fingerprint":"bad","records":1,"occurrences":1,\
        "first_seen":"2026-11-21T11:00:00.000Z","last_seen":"2026-11-21T11:00:00.000Z"}
        """

    /// Returns `decodingGroup` with another id, title and state.
    static func group(_ id: String = "g7", _ title: String = "Decoding failed", state: String = "open") -> String {
        decodingGroup.replacing(#""id":"g7""#, with: "\"id\":\"\(id)\"")
            .replacing("Decoding failed: keyNotFound(price)", with: title)
            .replacing(#""state":"open""#, with: "\"state\":\"\(state)\"")
    }

    static func groups(_ groups: String..., next: String? = nil) -> String {
        "{\"groups\":[\(groups.joined(separator: ","))]\(next.map { ",\"next\":\"\($0)\"" } ?? "")}"
    }

    static let decodingRecord = """
        {"id":"r42","group":"g7","received_at":"2026-11-21T11:57:00.004Z","sender":{"uid":1000,"gid":1000,"pid":4711,\
        "command":"shop","executable":"/usr/bin/shop","unit":"shop.service"},"repairs":["the fraction of code was cut"],\
        "message":"Decoding failed: keyNotFound(price)","severity":"error","domain":"com.example.shop.DecodingError",\
        "code":4865,"occurred_at":"2026-11-21T11:57:00.000Z","first_occurred_at":"2026-11-21T11:50:00.000Z","count":3,\
        "source":{"file_id":"Shop/Catalogue.swift","line":42,"column":9,"function":"load(page:)","module":"Shop"},\
        "app":{"name":"shop","version":"2.0.0","build":2500,"environment":"production","platform":"linux",\
        "network":"wifi","development":false},"backtrace":[{"image":"shop","build_id":"ab12","offset":74565},\
        {"image":"libc.so.6","symbol":"abort","offset":16,"file":"abort.c","line":79}],\
        "causes":[{"domain":"NSCocoaErrorDomain","code":4865,"message":"The data is missing."},{"message":"No key"}],\
        "metadata":{"attempt":3,"payload":{"price":null,"tags":["a","b"]},"ratio":0.10,"empty":{}},"reportable":true}
        """
    static let diskRecord = """
        {"id":"r43","group":"g9","received_at":"2026-11-21T11:59:59.000Z","sender":{"uid":0,"gid":0,"pid":1},\
        "repairs":[],"message":"\\u001b[31mNo space\\nleft","severity":"critical",\
        "occurred_at":"2026-11-21T11:59:59.000Z","count":1,"reportable":true}
        """

    static func records(_ records: String..., next: String? = nil) -> String {
        "{\"records\":[\(records.joined(separator: ","))]\(next.map { ",\"next\":\"\($0)\"" } ?? "")}"
    }

    static let shown = """
        {"record":\(decodingRecord),"group":\(decodingGroup),"fates":[{"destination":"logzio","fate":"delivered",\
        "attempts":2,"at":"2026-11-21T11:58:00.000Z","answer":"200 OK","maybe_duplicate":true},\
        {"destination":"archive","fate":"dead_lettered","attempts":5,"maybe_duplicate":false}]}
        """

    static let logzio = """
        {"name":"logzio","kind":"LogzIO","state":"paused","reason":"the token was refused (401)",\
        "advice":"Put the right token into /etc/issued/logzio-token, then: systemctl restart issued",\
        "ledger":{"received":1234567,"pending":17,"delivered":1234000,"summarised":500,"dead_lettered":1,\
        "withheld":40,"expired":9,"unconfirmed":0},"oldest_pending":"2026-11-21T10:00:00.000Z",\
        "next_attempt":"2026-11-21T12:00:20.000Z","last_answer":"401","last_success":"2026-11-21T09:59:00.000Z",\
        "requests":2500,"resent":3,"maybe_duplicate":2,"bytes_today":1572864}
        """
    static let archive = """
        {"name":"archive","kind":"ClickHouse","state":"idle","ledger":{"received":10,"pending":0,"delivered":8,\
        "summarised":0,"dead_lettered":0,"withheld":0,"expired":0,"unconfirmed":1},"requests":1,"resent":0,\
        "maybe_duplicate":0,"bytes_today":512}
        """

    static func status(_ destinations: String..., suppressions: String = "", faults: String = "") -> String {
        """
        {"version":"0.1.0","host":"web-1","started_at":"2026-11-18T12:00:00.000Z","received":1234567,"rejected":3,\
        "duplicates":1,"refused":2,"connections":12,"store":{"id":"s1","records":1200000,"groups":42,"bytes":15728640,\
        "oldest":"2026-10-22T12:00:00.000Z","free_bytes":21474836480,"faults":[\(faults)]},\
        "destinations":[\(destinations.joined(separator: ","))],"suppressions":[\(suppressions)]}
        """
    }

    static func flushed(
        _ name: String = "logzio", pending: Int, delivered: Int, oldest: String? = nil, advice: String? = nil
    ) -> String {
        """
        {"name":"\(name)","kind":"LogzIO","state":"idle",\
        "ledger":{"received":\(pending + delivered + 1),"pending":\(pending),"delivered":\(delivered),"summarised":1,\
        "dead_lettered":0,"withheld":0,"expired":0,"unconfirmed":0},\
        \(oldest.map { "\"oldest_pending\":\"\($0)\"," } ?? "")\(advice.map { "\"advice\":\"\($0)\"," } ?? "")\
        "requests":1,"resent":0,"maybe_duplicate":0,"bytes_today":1}
        """
    }
}
