/// Replies of the daemon in their wire format.
enum Replies {
    static let group = """
        {"id":"g7","title":"Decoding failed: keyNotFound(price)","severity":"error","state":"open","regressed":false,\
        "app":"shop","uid":1000,"fingerprint":"f00d","domain":"com.example.shop.DecodingError","code":4865,\
        "source":{"file_id":"Shop/Catalogue.swift","line":42,"column":9,"function":"load(page:)","module":"Shop"},\
        "records":8,"occurrences":1234,"first_seen":"2026-11-18T12:00:00.000Z",\
        "last_seen":"2026-11-21T11:57:00.000Z","first_version":"1.9.0","last_version":"2.0.0","newest":"r42"}
        """

    static func group(title: String, state: String, regressed: Bool = false) -> String {
        """
        {"id":"g9","title":"\(title)","severity":"critical","state":"\(state)","regressed":\(regressed),"uid":0,\
        "fingerprint":"beef","records":1,"occurrences":1,"first_seen":"2026-11-20T11:00:00.000Z",\
        "last_seen":"2026-11-20T11:00:00.000Z"}
        """
    }

    static let record = """
        {"id":"r42","group":"g7","received_at":"2026-11-21T11:57:00.004Z","sender":{"uid":1000,"gid":1001,"pid":4711,\
        "command":"shop-worker","executable":"/usr/bin/shop","unit":"shop.service"},"repairs":["code was cut"],\
        "message":"Decoding failed: keyNotFound(price)","severity":"error","domain":"com.example.shop.DecodingError",\
        "code":4865,"occurred_at":"2026-11-21T11:57:00.000Z","first_occurred_at":"2026-11-21T11:50:00.000Z","count":3,\
        "source":{"file_id":"Shop/Catalogue.swift","line":42,"column":9,"function":"load(page:)","module":"Shop"},\
        "app":{"name":"shop","version":"2.0.0","build":2500,"environment":"production","platform":"linux",\
        "network":"wifi","development":false},"fingerprint":"prices","backtrace":[{"image":"shop","build_id":"ab12",\
        "offset":74565},{"image":"libc.so.6","symbol":"abort","offset":-1,"file":"abort.c","line":79},{}],\
        "causes":[{"domain":"NSCocoaErrorDomain","code":4865,"message":"The data is missing."}],\
        "metadata":{"attempt":3},"reportable":true}
        """
    static let plainRecord = """
        {"id":"r43","group":"g9","received_at":"2026-11-21T11:59:59.000Z","sender":{"uid":0,"gid":0,"pid":1},\
        "repairs":[],"message":"\\u001b[31mNo space\\nleft","severity":"critical",\
        "occurred_at":"2026-11-21T11:59:59.000Z","count":1,"reportable":true}
        """

    static let shown = """
        {"record":\(record),"group":\(group),"fates":[{"destination":"logzio","fate":"delivered",\
        "attempts":2,"at":"2026-11-21T11:58:00.000Z","answer":"200 OK","maybe_duplicate":true},\
        {"destination":"archive","fate":"pending","attempts":0,"maybe_duplicate":false}]}
        """

    static let status = """
        {"version":"0.1.0","host":"web-1","started_at":"2026-11-18T12:00:00.000Z","received":1234567,"rejected":3,\
        "duplicates":1,"connections":12,"store":{"id":"s1","records":1200000,"groups":42,"bytes":15728640,\
        "oldest":"2026-10-22T12:00:00.000Z","free_bytes":21474836480,"faults":["issues.db-1 was set aside"]},\
        "destinations":[{"name":"logzio","kind":"LogzIO","state":"waiting","reason":"no answer",\
        "ledger":{"received":1234567,"pending":17,"delivered":1234000,"summarised":500,"dead_lettered":1,\
        "withheld":40,"expired":9,"unconfirmed":0},"next_attempt":"2026-11-21T12:00:20.000Z",\
        "requests":2500,"resent":3,"maybe_duplicate":2,"bytes_today":1572864},\
        {"name":"archive","kind":"ClickHouse","state":"idle","ledger":{"received":10,"pending":0,"delivered":8,\
        "summarised":0,"dead_lettered":0,"withheld":0,"expired":0,"unconfirmed":1},"requests":1,"resent":0,\
        "maybe_duplicate":0,"bytes_today":512}],\
        "suppressions":[{"destination":"logzio","app":"shop","group":"g7","reason":"group_rate","count":1200,\
        "since":"2026-11-21T11:00:00.000Z"},{"destination":"logzio","reason":"daily_bytes","count":1,\
        "since":"2026-11-21T11:59:00.000Z"}]}
        """
    static let closedStatus = """
        {"version":"0.1.0","host":"web-1","started_at":"2026-11-18T12:00:00.000Z","received":0,"rejected":0,\
        "duplicates":0,"store":{"id":"","records":0,"groups":0,"faults":["the disk gives nothing"]},\
        "destinations":[],"suppressions":[]}
        """

    static let deadLetter = """
        {"record":"r42","destination":"logzio","reason":"refused","answer":"400 Bad\\nRequest","attempts":1,\
        "at":"2026-11-21T11:58:00.000Z"}
        """
}
