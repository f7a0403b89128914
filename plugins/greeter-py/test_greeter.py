from greeter import GreetingSpec, greeter

from gyre import Object
from gyre.k8s import ConfigMap
from gyre.testing import given


def test_the_message_is_in_the_config_map():
    greeting = Object("hello", spec=GreetingSpec("Hello, world!"))
    answer = given(greeting).reconcile(greeter).is_ready("Written")
    assert answer.applies(ConfigMap, "hello").data["message"] == "Hello, world!"
