/// Who imports this module means the whole: what reports are made of, too.
@_exported public import IssueWire
