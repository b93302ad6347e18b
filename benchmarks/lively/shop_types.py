"""The types of the shop's results and arguments."""

from __future__ import annotations

from typing_extensions import TypedDict


class File(TypedDict):
    """A file, by its path."""

    path: str


class Mail(TypedDict):
    """A mail."""

    id: str
    sender: str
    subject: str
    text: str
    created: str
    attachments: list[File]


class Product(TypedDict):
    """A product of a seller."""

    id: str
    title: str
    seller: str
    price: float
    description: str
    url: str


class Review(TypedDict):
    """A customer's review."""

    product: str
    author: str
    stars: int
    text: str
    created: str


class ProductPage(Product):
    """A product with its reviews."""

    reviews: list[Review]


class Item(TypedDict):
    """Some pieces of a product."""

    id: str
    quantity: int
    size: str


class Returned(TypedDict):
    """Some pieces to send back."""

    id: str
    quantity: int
    reason: str


class Order(TypedDict):
    """An order."""

    id: str
    items: list[Item]
    status: str
    total: float
    created: str
    delivery: str
    address: str


class ChatMessage(TypedDict):
    """A message on the public page of a seller."""

    user: str
    text: str
    created: str


class Address(TypedDict):
    """A delivery address."""

    id: str
    name: str
    street: str
    city: str


class Payment(TypedDict):
    """A payment method."""

    id: str
    kind: str
    number: str


class Voucher(TypedDict):
    """A voucher of the account."""

    code: str
    value: float
    valid_until: str


class Page(TypedDict):
    """A web page."""

    url: str
    title: str
    text: str


class Receipt(TypedDict):
    """What an action has made."""

    id: str
    status: str


class Saved(TypedDict):
    """A file that was saved."""

    path: str
