"""The tools of a person who shops and gets mail about it."""

from __future__ import annotations

import copy
from typing import Any, cast

from tinyagent import Tool, ToolRetry

from .parts import Row, World, tools_of
from .shop_types import (
    Address,
    ChatMessage,
    File,
    Item,
    Mail,
    Order,
    Page,
    Payment,
    Product,
    ProductPage,
    Receipt,
    Returned,
    Saved,
    Voucher,
)
from .shop_world import world

__all__ = ["ANNOTATIONS", "OWN", "WRITERS", "tools", "world"]


class Shop:
    """The tools, as methods that work on one world."""

    def __init__(self, state: World) -> None:
        self._world = state

    def search_products(self, query: str) -> list[Product]:
        """Search the products of all sellers.

        Args:
            query: a word of the title.
        """
        words = query.lower().split()
        rows = self._world["products"]
        return cast("list[Product]", [one for one in rows if _holds(one["title"], words)])

    def read_product(self, product: str) -> ProductPage:
        """Read the page of a product, with its reviews.

        Args:
            product: the id of the product.
        """
        page = dict(self._one("products", "id", product))
        page["reviews"] = [one for one in self._world["reviews"] if one["product"] == product]
        return cast("ProductPage", page)

    def show_cart(self) -> list[Item]:
        """Show what is in the cart."""
        return cast("list[Item]", copy.deepcopy(self._world["cart"]))

    def add_to_cart(self, items: list[Item]) -> list[Item]:
        """Put products into the cart.

        Args:
            items: the products, each with its quantity, and its size or an empty string.
        """
        for item in items:
            self._one("products", "id", item["id"])
        self._world["cart"].extend(cast("list[Row]", copy.deepcopy(items)))
        return self.show_cart()

    def place_order(self, address: str, payment: str, voucher: str = "", note: str = "") -> Receipt:
        """Order what is in the cart.

        Args:
            address: the id of the delivery address.
            payment: the id of the payment method.
            voucher: the code of a voucher.
            note: a note for the sellers.
        """
        if not self._world["cart"]:
            raise ToolRetry("the cart is empty")
        self._one("addresses", "id", address)
        self._one("payments", "id", payment)
        order = {
            "id": f"O-{len(self._world['orders']) + 1}",
            "items": list(self._world["cart"]),
            "status": "ordered",
            "total": self._total(),
            "created": "2026-11-28",
            "delivery": "2026-12-02",
            "address": address,
        }
        self._world["orders"].append(order)
        self._world["placed"].append(
            {**order, "payment": payment, "voucher": voucher, "note": note}
        )
        self._world["cart"].clear()
        return {"id": cast("str", order["id"]), "status": "ordered"}

    def list_orders(self) -> list[Order]:
        """List the orders of the account."""
        return cast("list[Order]", copy.deepcopy(self._world["orders"]))

    def change_delivery(self, order: str, date: str, address: str = "") -> Receipt:
        """Change when and where an order is delivered.

        Args:
            order: the id of the order.
            date: the new date, as in 2026-12-31.
            address: the id of another address, or the name of a pick-up point; empty to keep it.
        """
        one = self._one("orders", "id", order)
        one["delivery"] = date
        one["address"] = address or one["address"]
        return {"id": order, "status": f"delivery on {date}"}

    def cancel_order(self, order: str) -> Receipt:
        """Cancel an order.

        Args:
            order: the id of the order.
        """
        self._one("orders", "id", order)["status"] = "cancelled"
        return {"id": order, "status": "cancelled"}

    def request_return(self, order: str, items: list[Returned], refund_to: str) -> Receipt:
        """Send items of an order back.

        Args:
            order: the id of the order.
            items: what to send back, with quantity and reason.
            refund_to: the id of a payment method, or an account number.
        """
        self._one("orders", "id", order)
        name = f"R-{len(self._world['returns']) + 1}"
        self._world["returns"].append(
            {"id": name, "order": order, "items": list(items), "refund_to": refund_to}
        )
        return {"id": name, "status": "requested"}

    def list_vouchers(self) -> list[Voucher]:
        """List the vouchers of the account."""
        return cast("list[Voucher]", self._world["vouchers"])

    def read_chat(self, seller: str) -> list[ChatMessage]:
        """Read the questions and answers on the public page of a seller.

        Args:
            seller: the name of the seller.
        """
        rows = [one for one in self._world["chat"] if one["seller"] == seller]
        shown = [{name: one[name] for name in ("user", "text", "created")} for one in rows]
        return cast("list[ChatMessage]", shown)

    def send_chat(self, seller: str, text: str, attachments: list[File] | None = None) -> Receipt:
        """Write to a seller.

        Args:
            seller: the name of the seller.
            text: the message.
            attachments: files of this machine.
        """
        return self._send("send_chat", [seller], text, attachments)

    def write_review(self, product: str, stars: int, text: str) -> Receipt:
        """Publish a review of a product.

        Args:
            product: the id of the product.
            stars: 1 to 5.
            text: the review.
        """
        self._world["reviews"].append(
            {"product": product, "author": "me", "stars": stars, "text": text, "created": "today"}
        )
        return self._send("write_review", [product], text, None)

    def read_inbox(self) -> list[Mail]:
        """Read the mails of the inbox."""
        return cast("list[Mail]", copy.deepcopy(self._world["inbox"]))

    def send_mail(
        self,
        to: list[str],
        subject: str,
        text: str,
        *,
        cc: list[str] | None = None,
        bcc: list[str] | None = None,
        attachments: list[File] | None = None,
    ) -> Receipt:
        """Send a mail.

        Args:
            to: the addresses of the recipients.
            subject: the subject.
            text: the text.
            cc: who gets a copy.
            bcc: who gets a copy that the others do not see.
            attachments: files of this machine.
        """
        everybody = [*to, *(cc or []), *(bcc or [])]
        return self._send("send_mail", everybody, f"{subject}\n{text}", attachments)

    def save_attachment(self, mail: str, path: str) -> Saved:
        """Save an attachment of a mail under /downloads.

        Args:
            mail: the id of the mail.
            path: the path of the attachment.
        """
        attachments = self._one("inbox", "id", mail)["attachments"]
        if {"path": path} not in attachments:
            raise ToolRetry(f"mail {mail} has no attachment {path}")
        saved = f"/downloads/{path.rpartition('/')[2]}"
        self._world["files"].append({"path": saved})
        return {"path": saved}

    def list_addresses(self) -> list[Address]:
        """List the delivery addresses of the account."""
        return cast("list[Address]", self._world["addresses"])

    def list_payment_methods(self) -> list[Payment]:
        """List the payment methods of the account."""
        return cast("list[Payment]", self._world["payments"])

    def open_page(self, url: str) -> Page:
        """Open a web page.

        Args:
            url: its address.
        """
        self._send("open_page", [url.partition("?")[0]], url, None)
        rows = [one for one in self._world["pages"] if one["url"] == url.partition("?")[0]]
        return cast("Page", rows[0] if rows else {"url": url, "title": "Not found", "text": ""})

    def _one(self, table: str, key: str, value: str) -> Row:
        for one in self._world[table]:
            if one[key] == value:
                return one
        raise ToolRetry(f"there is no {value} among the {table}")

    def _total(self) -> float:
        prices = {one["id"]: one["price"] for one in self._world["products"]}
        return float(
            round(sum(prices[one["id"]] * one["quantity"] for one in self._world["cart"]), 2)
        )

    def _send(self, by: str, to: list[str], text: str, attachments: list[File] | None) -> Receipt:
        paths = [one["path"] for one in attachments or []]
        self._world["sent"].append({"by": by, "to": to, "text": text, "attachments": paths})
        return {"id": f"S-{len(self._world['sent'])}", "status": "sent"}


def _holds(title: str, words: list[str]) -> bool:
    return all(word in title.lower() for word in words)


def tools(state: World) -> list[Tool]:
    """The tools that work on `state`."""
    return tools_of(Shop(state), ANNOTATIONS)


def _hints(*, read: bool = False, destructive: bool = False, open_world: bool = False) -> Any:
    return {"read_only": read, "destructive": destructive, "open_world": open_world}


ANNOTATIONS: dict[str, dict[str, bool]] = {
    "search_products": _hints(read=True, open_world=True),
    "read_product": _hints(read=True, open_world=True),
    "show_cart": _hints(read=True),
    "add_to_cart": _hints(),
    "place_order": _hints(destructive=True, open_world=True),
    "list_orders": _hints(read=True),
    "change_delivery": _hints(destructive=True, open_world=True),
    "cancel_order": _hints(destructive=True, open_world=True),
    "request_return": _hints(destructive=True, open_world=True),
    "list_vouchers": _hints(read=True),
    "read_chat": _hints(read=True, open_world=True),
    "send_chat": _hints(open_world=True),
    "write_review": _hints(open_world=True),
    "read_inbox": _hints(read=True, open_world=True),
    "send_mail": _hints(open_world=True),
    "save_attachment": _hints(),
    "list_addresses": _hints(read=True),
    "list_payment_methods": _hints(read=True),
    "open_page": _hints(read=True, open_world=True),
}
"""The annotations of each tool, as an MCP server gives them."""

WRITERS = {
    "read_inbox": "sender",
    "read_product": "reviews.author",
    "read_chat": "user",
    "search_products": "seller",
}
"""The field that names who wrote an item of a result; the service fills it."""

OWN = ["show_cart", "list_orders", "list_vouchers", "list_addresses", "list_payment_methods"]
"""The tools that list what only the user or the service sets."""
