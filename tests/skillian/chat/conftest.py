from tests.skillian.storage.conftest import other, store, url

__all__ = ["other", "store", "url"]
