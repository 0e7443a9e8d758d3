/// What can go wrong in a shop.
enum ShopError: Error {
    case outOfStock(article: Int)
    case paymentRefused(reason: String)
    case priceMissing(field: String)
}

/// What can go wrong between a shop and its warehouse.
struct WarehouseError: Error, CustomStringConvertible {
    var shelf: String
    var description: String { "Shelf \(shelf) does not answer" }
}
