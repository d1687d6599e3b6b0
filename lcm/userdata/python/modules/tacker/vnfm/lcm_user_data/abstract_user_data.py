import abc


class AbstractUserData(abc.ABC):
    """Base of the user data classes. Their methods are called on the class."""

    @staticmethod
    @abc.abstractmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
        raise NotImplementedError('the user data class has no method instantiate')
